package streamgauge.kafkastreams.power;

import java.time.Duration;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.Windowed;
import streamgauge.Job;
import streamgauge.kafkastreams.Binary;
import streamgauge.kafkastreams.StateStores;
import streamgauge.power.Reading;
import streamgauge.power.Usage;

/** What the programs have in common. */
final class Windows {
  static final Serde<Usage> USAGE = Binary.serde(Usage.FORM);

  private Windows() {}

  static KStream<byte[], byte[]> readings(StreamsBuilder builder, Job job) {
    return builder.stream(job.inputs(),
        Consumed.with(Binary.BYTES, Binary.BYTES)
            .withTimestampExtractor((record, newestMs) -> Reading.eventMs((byte[]) record.value())));
  }

  /** The sums of each key. A window closes {@code graceMs} after its end; updates are taken as long as it is kept. */
  static KStream<Windowed<byte[]>, Usage> sums(
      KStream<byte[], byte[]> readings, Job job, Duration period, long graceMs) {
    Duration length = Duration.ofSeconds(job.parameter("window_s"));
    Duration grace = StateStores.onClose(job) ? Duration.ofMillis(graceMs) : StateStores.LONGEST_GAP;
    return readings.groupByKey(Grouped.with("readings", Binary.BYTES, Binary.BYTES))
        .windowedBy(TimeWindows.ofSizeAndGrace(length, grace).advanceBy(period))
        .emitStrategy(StateStores.emit(job))
        .aggregate(()
                       -> Usage.NONE,
            (key, reading, usage)
                -> usage.add(Reading.watts(reading)),
            StateStores.windows(job, length, grace, Binary.BYTES, USAGE))
        .toStream();
  }
}
