package streamgauge.kafkastreams;

import java.time.Duration;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.WindowStore;
import streamgauge.Job;

/** The stores of tables and windows. Without a cache every update is published; with one, the latest at each commit. */
public final class StateStores {
  /** A store expires windows by the newest record; after a gap this long, windows to be closed must still exist. */
  public static final Duration LONGEST_GAP = Duration.ofMinutes(5);

  private StateStores() {}

  /** Whether state is in maps on the heap. Changelogs hold it as well, as they do that of RocksDB. */
  public static boolean inMemory(Job job) {
    return job.text("state_store").equals("memory");
  }

  /** A store of a processor. */
  public static <K, V> StoreBuilder<KeyValueStore<K, V>> keyValues(
      Job job, String name, Serde<K> keys, Serde<V> values) {
    StoreBuilder<KeyValueStore<K, V>> store = Stores.keyValueStoreBuilder(
        inMemory(job) ? Stores.inMemoryKeyValueStore(name) : Stores.persistentKeyValueStore(name), keys, values);
    return job.number("cache_mb") > 0 ? store.withCachingEnabled() : store;
  }

  /** Whether a window is published when it closes, not at each update. */
  public static boolean onClose(Job job) {
    return job.text("emit").equals("close");
  }

  public static EmitStrategy emit(Job job) {
    return onClose(job) ? EmitStrategy.onWindowClose() : EmitStrategy.onWindowUpdate();
  }

  public static <K, V> Materialized<K, V, KeyValueStore<Bytes, byte[]>> table(
      Job job, String name, Serde<K> keys, Serde<V> values) {
    return cached(
        job, Materialized.<K, V, KeyValueStore<Bytes, byte[]>>as(name).withKeySerde(keys).withValueSerde(values));
  }

  /** Windows that last {@code length} and take records for {@code grace} after their end. */
  public static <K, V> Materialized<K, V, WindowStore<Bytes, byte[]>> windows(
      Job job, Duration length, Duration grace, Serde<K> keys, Serde<V> values) {
    return cached(job,
        Materialized.<K, V, WindowStore<Bytes, byte[]>>as("windows")
            .withKeySerde(keys)
            .withValueSerde(values)
            .withRetention(length.plus(grace).plus(onClose(job) ? LONGEST_GAP : Duration.ZERO)));
  }

  private static <K, V, S extends StateStore> Materialized<K, V, S> cached(Job job, Materialized<K, V, S> store) {
    return job.number("cache_mb") > 0 ? store : store.withCachingDisabled();
  }
}
