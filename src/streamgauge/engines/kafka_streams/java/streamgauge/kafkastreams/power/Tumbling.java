package streamgauge.kafkastreams.power;

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
import streamgauge.power.Usage;

/** The sums of each sensor in windows that do not overlap. The input is partitioned by sensor, so no record moves. */
public final class Tumbling implements Program {
  @Override
  public Topology topology(Job job) {
    StreamsBuilder builder = new StreamsBuilder();
    Duration period = Duration.ofSeconds(job.parameter("window_s"));
    Windows.sums(Windows.readings(builder, job), job, period, job.parameter("out_of_order_ms"))
        .map(Tumbling::result)
        .to(job.output(), Produced.with(Binary.BYTES, Binary.BYTES));
    return builder.build();
  }

  private static KeyValue<byte[], byte[]> result(Windowed<byte[]> window, Usage usage) {
    return KeyValue.pair(window.key(), usage.ofSensor(Text.number(window.key()), window.window().end()));
  }
}
