package streamgauge.kafkastreams.streambench;

import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Repartitioned;
import org.apache.kafka.streams.state.KeyValueStore;
import streamgauge.Job;
import streamgauge.kafkastreams.Binary;
import streamgauge.kafkastreams.StateStores;

/** Shared by the programs with a running result. */
final class Running {
  /** A placeholder where only the key matters. Kafka Streams skips records without a value. */
  static final byte[] NOTHING = {};

  private Running() {}

  /** All records in one task, in the order of its repartition topic. */
  static KStream<byte[], byte[]> inOneTask(KStream<byte[], byte[]> records, String name) {
    return records.repartition(Repartitioned.with(Binary.BYTES, Binary.BYTES).withName(name).withNumberOfPartitions(1));
  }

  static <T> Materialized<byte[], T, KeyValueStore<Bytes, byte[]>> store(String name, Serde<T> values, Job job) {
    return StateStores.table(job, name, Binary.BYTES, values);
  }
}
