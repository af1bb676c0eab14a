package streamgauge.kafkastreams;

import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Produced;
import streamgauge.Job;

/** Publishes every message unchanged. */
final class Ingest {
  private Ingest() {}

  static Topology topology(Job job) {
    StreamsBuilder builder = new StreamsBuilder();
    builder.stream(job.inputs(), Consumed.with(Binary.BYTES, Binary.BYTES))
        .to(job.output(), Produced.with(Binary.BYTES, Binary.BYTES));
    return builder.build();
  }
}
