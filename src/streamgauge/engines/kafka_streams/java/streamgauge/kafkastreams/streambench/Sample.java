package streamgauge.kafkastreams.streambench;

import org.apache.kafka.streams.kstream.KStream;
import streamgauge.Job;
import streamgauge.kafkastreams.StreamProgram;
import streamgauge.streambench.Sampling;

/** Publishes a sample of the records. */
public final class Sample implements StreamProgram {
  @Override
  public KStream<byte[], byte[]> results(KStream<byte[], byte[]> records, Job job) {
    Sampling sample = Sampling.of(job);
    return records.filter((key, value) -> sample.holds(key));
  }
}
