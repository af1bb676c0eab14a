package streamgauge.kafkastreams.clicks;

import java.time.Duration;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.TimeWindows;
import streamgauge.Job;
import streamgauge.clicks.Click;
import streamgauge.kafkastreams.Binary;
import streamgauge.kafkastreams.Program;
import streamgauge.kafkastreams.StateStores;

/** Counts the clicks of each page and second of event time. Records after the grace period are dropped. */
public final class Windowed implements Program {
  private static final Duration WINDOW = Duration.ofMillis(Click.WINDOW_MS);

  @Override
  public Topology topology(Job job) {
    Duration grace = Duration.ofMillis(job.parameter("out_of_order_ms"));
    StreamsBuilder builder = new StreamsBuilder();
    builder
        .stream(job.inputs(),
            Consumed.with(Binary.BYTES, Binary.BYTES)
                .withTimestampExtractor((record, newestMs) -> Click.eventMs((byte[]) record.value())))
        .groupByKey(Grouped.with(Binary.BYTES, Binary.BYTES))
        .windowedBy(TimeWindows.ofSizeAndGrace(WINDOW, grace))
        .emitStrategy(StateStores.emit(job))
        .count(StateStores.windows(job, WINDOW, grace, Binary.BYTES, Serdes.Long()))
        .toStream()
        .map((window, n) -> KeyValue.pair(window.key(), Click.toJson(window.key(), window.window().end(), n)))
        .to(job.output(), Produced.with(Binary.BYTES, Binary.BYTES));
    return builder.build();
  }
}
