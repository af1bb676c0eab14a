package streamgauge.kafkastreams.traffic;

import java.time.Duration;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Aggregator;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Initializer;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.Windowed;
import streamgauge.Job;
import streamgauge.kafkastreams.Binary;
import streamgauge.kafkastreams.StateStores;
import streamgauge.traffic.Pair;
import streamgauge.traffic.Sums;

/** Windows over the joined records of each point, a new one every second. */
final class Windows {
  private static final Duration SECOND = Duration.ofMillis(Sums.SECOND_MS);

  private Windows() {}

  /** A window closes when no speed message can match one of its flow messages any more. */
  static <T> KStream<Windowed<byte[]>, T> over(Duration length, StreamsBuilder builder, Job job, Initializer<T> nothing,
      Aggregator<byte[], Pair, T> add, Serde<T> serde) {
    Duration grace = Duration.ofMillis(job.parameter("join_bound_ms") + job.parameter("out_of_order_ms"));
    return Join.pairs(builder, job)
        .groupByKey(Grouped.keySerde(Binary.BYTES))
        .windowedBy(TimeWindows.ofSizeAndGrace(length, grace).advanceBy(SECOND))
        .emitStrategy(StateStores.emit(job))
        .aggregate(nothing, add, StateStores.windows(job, length, grace, Binary.BYTES, serde))
        .toStream();
  }
}
