package streamgauge.kafkastreams.clicks;

import java.time.Duration;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.state.WindowStore;
import streamgauge.Job;
import streamgauge.clicks.Click;
import streamgauge.kafkastreams.Binary;
import streamgauge.kafkastreams.Program;

/** Counts the clicks of each page and second of event time. Records after the grace period are dropped. */
public final class Windowed implements Program {
  private static final Duration WINDOW = Duration.ofMillis(Click.WINDOW_MS);

  /** The store expires windows by the newest record; after a gap this long, windows to be closed must still exist. */
  private static final Duration LONGEST_GAP = Duration.ofMinutes(5);

  @Override
  public Topology topology(Job job) {
    Duration grace = Duration.ofMillis(job.parameter("out_of_order_ms"));
    boolean onClose = job.text("emit").equals("close");
    Materialized<byte[], Long, WindowStore<Bytes, byte[]>> store =
        Materialized.<byte[], Long, WindowStore<Bytes, byte[]>>as("windows")
            .withKeySerde(Binary.BYTES)
            .withValueSerde(Serdes.Long())
            .withRetention(WINDOW.plus(grace).plus(onClose ? LONGEST_GAP : Duration.ZERO));
    StreamsBuilder builder = new StreamsBuilder();
    builder
        .stream(job.inputs(),
            Consumed.with(Binary.BYTES, Binary.BYTES)
                .withTimestampExtractor((record, newestMs) -> Click.eventMs((byte[]) record.value())))
        .groupByKey(Grouped.with(Binary.BYTES, Binary.BYTES))
        .windowedBy(TimeWindows.ofSizeAndGrace(WINDOW, grace))
        .emitStrategy(onClose ? EmitStrategy.onWindowClose() : EmitStrategy.onWindowUpdate())
        .count(job.number("cache_mb") > 0 ? store : store.withCachingDisabled())
        .toStream()
        .map((window, n) -> KeyValue.pair(window.key(), Click.toJson(window.key(), window.window().end(), n)))
        .to(job.output(), Produced.with(Binary.BYTES, Binary.BYTES));
    return builder.build();
  }
}
