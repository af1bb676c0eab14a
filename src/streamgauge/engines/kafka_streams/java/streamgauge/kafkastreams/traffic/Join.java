package streamgauge.kafkastreams.traffic;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.processor.api.ContextualFixedKeyProcessor;
import org.apache.kafka.streams.processor.api.FixedKeyRecord;
import streamgauge.Job;
import streamgauge.kafkastreams.Binary;
import streamgauge.kafkastreams.Program;
import streamgauge.traffic.Half;
import streamgauge.traffic.Message;
import streamgauge.traffic.Pair;

/**
 * Flow and speed of each lane in one record, with Kafka Streams' join.
 *
 * <p>Everything is partitioned by the id of the point, as the topics are: no record moves between tasks, and each task
 * has its own stream time. Among the messages of a point within the bound, the joiner picks those of the same round
 * and lane.
 */
public final class Join implements Program {
  private static final Serde<Half> HALF = Binary.serde(Half.FORM);

  @Override
  public boolean ordersTopics() {
    return true;
  }

  @Override
  public Topology topology(Job job) {
    StreamsBuilder builder = new StreamsBuilder();
    pairs(builder, job).mapValues(Pair::toJson).to(job.output(), Produced.with(Binary.BYTES, Binary.BYTES));
    return builder.build();
  }

  /** The joined records by the id of their point, each with the timestamp of its flow message. */
  static KStream<byte[], Pair> pairs(StreamsBuilder builder, Job job) {
    JoinWindows near = JoinWindows.ofTimeDifferenceAndGrace(
        Duration.ofMillis(job.parameter("join_bound_ms")), Duration.ofMillis(job.parameter("out_of_order_ms")));
    return halves(builder, job.input("flow"))
        .join(halves(builder, job.input("speed")), Join::pair, near,
            StreamJoined.with(Binary.BYTES, HALF, HALF).withName("join").withStoreName("join"))
        .processValues(AtFlowTime::new);
  }

  private static KStream<byte[], Half> halves(StreamsBuilder builder, String topic) {
    return builder.stream(topic, Consumed.with(Binary.BYTES, Binary.BYTES)).processValues(ToHalf::new);
  }

  private static Pair pair(byte[] id, Half flow, Half speed) {
    return flow.belongsTo(speed) ? Pair.of(new String(id, StandardCharsets.UTF_8), flow, speed) : null;
  }

  /** Parses a message and keeps its append time: after the join only the later of the two is known. */
  private static final class ToHalf extends ContextualFixedKeyProcessor<byte[], byte[], Half> {
    @Override
    public void process(FixedKeyRecord<byte[], byte[]> message) {
      context().forward(message.withValue(Half.of(Message.parse(message.value()), message.timestamp())));
    }
  }

  /** Drops pairs that do not match, and gives the others the timestamp of the flow message. */
  private static final class AtFlowTime extends ContextualFixedKeyProcessor<byte[], Pair, Pair> {
    @Override
    public void process(FixedKeyRecord<byte[], Pair> joined) {
      if (joined.value() != null) {
        context().forward(joined.withTimestamp(joined.value().eventMs()));
      }
    }
  }
}
