package streamgauge.kafkastreams;

import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Produced;
import streamgauge.Job;
import streamgauge.Message;

/** Parses every message and publishes its fields. */
final class Parse {
  private Parse() {}

  static Topology topology(Job job) {
    StreamsBuilder builder = new StreamsBuilder();
    builder.stream(job.inputs(), Consumed.with(Binary.BYTES, Binary.BYTES))
        .mapValues(value -> Message.parse(value).toJson())
        .to(job.output(), Produced.with(Binary.BYTES, Binary.BYTES));
    return builder.build();
  }
}
