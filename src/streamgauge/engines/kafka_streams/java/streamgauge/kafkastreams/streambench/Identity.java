package streamgauge.kafkastreams.streambench;

import org.apache.kafka.streams.kstream.KStream;
import streamgauge.Job;
import streamgauge.kafkastreams.StreamProgram;

/** Publishes every record unchanged. */
public final class Identity implements StreamProgram {
  @Override
  public KStream<byte[], byte[]> results(KStream<byte[], byte[]> records, Job job) {
    return records;
  }
}
