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

/** Flow and speed of each lane, by Flink's interval join. */
public final class Join implements Program {
  @Override
  public DataStream<Tuple2<byte[], byte[]>> results(StreamExecutionEnvironment environment, Job job) {
    return pairs(environment, job).map(pair -> Topics.result(pair.id(), pair.toJson()), Topics.RECORD);
  }

  /**
   * The joined records, each with the append time of its flow message as its timestamp.
   *
   * <p>Flink gives a joined record the later one of both timestamps. So the speed messages are set back by the join
   * bound: the flow message's is then always the later one, and the watermark behind the join waits for the last speed
   * message that can still be joined. The flow's watermark waits as long, though it need not: else it would make the
   * first speed messages late that come after the speed's partitions were idle and left it alone.
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

  /** What a flow and a speed message have in common. A named class, because the join asks it for its type. */
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
