package streamgauge.kafkastreams;

import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Produced;
import streamgauge.Job;

/** A program that reads all inputs as one stream and publishes one stream of results. */
public interface StreamProgram extends Program {
  KStream<byte[], byte[]> results(KStream<byte[], byte[]> records, Job job);

  @Override
  default Topology topology(Job job) {
    StreamsBuilder builder = new StreamsBuilder();
    results(builder.stream(job.inputs(), Consumed.with(Binary.BYTES, Binary.BYTES)), job)
        .to(job.output(), Produced.with(Binary.BYTES, Binary.BYTES));
    return builder.build();
  }
}
