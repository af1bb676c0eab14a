package streamgauge.kafkastreams.power;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.Windowed;
import streamgauge.Job;
import streamgauge.Text;
import streamgauge.kafkastreams.Binary;
import streamgauge.kafkastreams.Program;
import streamgauge.power.Reading;
import streamgauge.power.Usage;

/** The sums of each sensor and second modulo seven in windows that overlap. Readings move to the task of that key. */
public final class Hopping implements Program {
  private static final char SEPARATOR = ':';

  @Override
  public Topology topology(Job job) {
    StreamsBuilder builder = new StreamsBuilder();
    Duration period = Duration.ofMillis(job.parameter("period_ms"));
    // A task gets readings of all partitions, which may differ in their progress.
    long graceMs = job.parameter("out_of_order_ms") + job.parameter("partition_skew_ms");
    Windows.sums(Windows.readings(builder, job).selectKey((sensor, reading) -> key(reading)), job, period, graceMs)
        .map(Hopping::result)
        .to(job.output(), Produced.with(Binary.BYTES, Binary.BYTES));
    return builder.build();
  }

  private static byte[] key(byte[] reading) {
    return (Reading.sensor(reading) + String.valueOf(SEPARATOR) + Reading.slot(reading))
        .getBytes(StandardCharsets.UTF_8);
  }

  private static KeyValue<byte[], byte[]> result(Windowed<byte[]> window, Usage usage) {
    byte[] key = window.key();
    long sensor = Text.number(Text.field(key, SEPARATOR, 0));
    long slot = Text.number(Text.field(key, SEPARATOR, 1));
    return KeyValue.pair(key, usage.ofSlot(sensor, slot, window.window().end()));
  }
}
