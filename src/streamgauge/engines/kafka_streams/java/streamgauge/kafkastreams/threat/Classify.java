package streamgauge.kafkastreams.threat;

import org.apache.kafka.streams.kstream.KStream;
import streamgauge.Job;
import streamgauge.kafkastreams.StreamProgram;
import streamgauge.threat.Network;

/** Publishes class and score of every flow. */
public final class Classify implements StreamProgram {
  @Override
  public KStream<byte[], byte[]> results(KStream<byte[], byte[]> records, Job job) {
    Network network = Network.of(job);
    return records.mapValues(network::classify);
  }
}
