package streamgauge.flink.traffic;

import java.time.Duration;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.co.ProcessJoinFunction;
import org.apache.flink.util.Collector;
import streamgauge.Job;
import streamgauge.flink.CompactType;
import streamgauge.flink.Program;
import streamgauge.flink.Topics;
import streamgauge.traffic.Message;
import streamgauge.traffic.Pair;

/** Flow and speed of each lane, with Flink's interval join. */
public final class Join implements Program {
  @Override
  public DataStream<Tuple2<byte[], byte[]>> results(StreamExecutionEnvironment environment, Job job) {
    return pairs(environment, job).map(pair -> Topics.result(pair.id(), pair.toJson()), Topics.RECORD);
  }

  /**
   * The joined records, each with the append time of its flow message as its timestamp.
   *
   * <p>Flink gives a joined record the later of the two timestamps. The speed messages are therefore set back by the
   * join bound: the flow message's timestamp is then always the later one, and the watermark after the join waits for
   * the last speed message that can still be joined. The flow's watermark waits equally long: otherwise it would run
   * ahead while the speed's partitions are idle, and the first speed messages after that would be late.
   */
  static DataStream<Pair> pairs(StreamExecutionEnvironment environment, Job job) {
    long boundMs = job.parameter("join_bound_ms");
    return byLane(Topics.timed(environment, job, "flow", 0, boundMs))
        .intervalJoin(byLane(Topics.timed(environment, job, "speed", boundMs, 0)))
        .between(Duration.ofMillis(-2 * boundMs), Duration.ZERO)
        .process(new Joining(), new CompactType<>(Pair.class))
        .name("join");
  }

  private static KeyedStream<Message, Tuple3<String, String, String>> byLane(
      DataStream<Tuple2<byte[], byte[]>> records) {
    return records.map(record -> Message.parse(record.f1), new CompactType<>(Message.class))
        .name("parse")
        .keyBy(new Lane());
  }

  /** The join key of flow and speed messages. A named class, because Flink reads its type parameters. */
  private static final class Lane implements KeySelector<Message, Tuple3<String, String, String>> {
    private static final long serialVersionUID = 1L;

    @Override
    public Tuple3<String, String, String> getKey(Message message) {
      return Tuple3.of(message.timestamp(), message.id(), message.lane());
    }
  }

  private static final class Joining extends ProcessJoinFunction<Message, Message, Pair> {
    private static final long serialVersionUID = 1L;

    @Override
    public void processElement(Message flow, Message speed, Context context, Collector<Pair> out) {
      out.collect(new Pair(flow.timestamp(), flow.id(), flow.lane(), flow.lanes(), flow.flow(), speed.speed(),
          context.getLeftTimestamp()));
    }
  }
}
