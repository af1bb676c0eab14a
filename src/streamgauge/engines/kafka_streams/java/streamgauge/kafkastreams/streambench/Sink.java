package streamgauge.kafkastreams.streambench;

import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import streamgauge.Job;
import streamgauge.kafkastreams.Binary;
import streamgauge.kafkastreams.Program;

/** Reads every record and publishes none. */
public final class Sink implements Program {
  @Override
  public Topology topology(Job job) {
    StreamsBuilder builder = new StreamsBuilder();
    builder.stream(job.inputs(), Consumed.with(Binary.BYTES, Binary.BYTES)).foreach((key, value) -> {
      // Records are only read.
    });
    return builder.build();
  }
}
