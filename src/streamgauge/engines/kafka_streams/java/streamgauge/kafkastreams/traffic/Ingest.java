package streamgauge.kafkastreams.traffic;

import org.apache.kafka.streams.kstream.KStream;
import streamgauge.Job;
import streamgauge.kafkastreams.StreamProgram;

/** Publishes every message unchanged. */
public final class Ingest implements StreamProgram {
  @Override
  public KStream<byte[], byte[]> results(KStream<byte[], byte[]> records, Job job) {
    return records;
  }
}
