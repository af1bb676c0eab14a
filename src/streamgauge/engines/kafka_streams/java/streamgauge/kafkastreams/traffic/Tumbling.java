package streamgauge.kafkastreams.traffic;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.Windowed;
import streamgauge.Job;
import streamgauge.kafkastreams.Binary;
import streamgauge.kafkastreams.Program;
import streamgauge.traffic.Sums;

/** The number of cars and the mean speed of each point and second. */
public final class Tumbling implements Program {
  private static final Serde<Sums> SUMS = Binary.serde(Sums.FORM);

  @Override
  public boolean ordersTopics() {
    return true;
  }

  @Override
  public Topology topology(Job job) {
    StreamsBuilder builder = new StreamsBuilder();
    Windows
        .over(
            Duration.ofMillis(Sums.SECOND_MS), builder, job, () -> Sums.NONE, (id, pair, sums) -> sums.add(pair), SUMS)
        .map(Tumbling::result)
        .to(job.output(), Produced.with(Binary.BYTES, Binary.BYTES));
    return builder.build();
  }

  private static KeyValue<byte[], byte[]> result(Windowed<byte[]> second, Sums sums) {
    String id = new String(second.key(), StandardCharsets.UTF_8);
    return KeyValue.pair(second.key(), sums.toJson(id, second.window().end()));
  }
}
