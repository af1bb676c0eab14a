package streamgauge.kafkastreams;

import static org.apache.kafka.streams.StreamsConfig.consumerPrefix;
import static org.apache.kafka.streams.StreamsConfig.producerPrefix;

import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.state.BuiltInDslStoreSuppliers.InMemoryDslStoreSuppliers;
import streamgauge.Job;

/** Translates a job's options into Kafka Streams settings. */
final class Settings {
  /** How often Kafka Streams checks for closed windows; an internal setting. */
  private static final String EMIT_INTERVAL = "__emit.interval.ms.kstreams.windowed.aggregation__";

  private static final long BYTES_PER_MB = 1 << 20;

  /** Kafka Streams' default; it refuses to start if the commit interval is longer. */
  private static final int TRANSACTION_TIMEOUT_MS = 10_000;

  private static final Map<String, Set<String>> CLIENTS = Map.of(StreamsConfig.MAIN_CONSUMER_PREFIX,
      ConsumerConfig.configNames(), StreamsConfig.RESTORE_CONSUMER_PREFIX, ConsumerConfig.configNames(),
      StreamsConfig.CONSUMER_PREFIX, ConsumerConfig.configNames(), StreamsConfig.PRODUCER_PREFIX,
      ProducerConfig.configNames(), StreamsConfig.ADMIN_CLIENT_PREFIX, AdminClientConfig.configNames());

  private Settings() {}

  /** User settings take precedence. Throws UnknownSetting. */
  static Properties of(Job job, Path stateDir, boolean ordersTopics) {
    boolean exactlyOnce = job.text("delivery").equals("exactly-once");
    Properties settings = job.clientSettings();
    settings.put(StreamsConfig.APPLICATION_ID_CONFIG, job.group());
    settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, job.bootstrap());
    settings.put(StreamsConfig.STATE_DIR_CONFIG, stateDir.toString());
    settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, (int) job.number("threads"));
    settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG,
        exactlyOnce ? StreamsConfig.EXACTLY_ONCE_V2 : StreamsConfig.AT_LEAST_ONCE);
    settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, job.number("commit_ms"));
    settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, job.number("cache_mb") * BYTES_PER_MB);
    if (StateStores.inMemory(job)) {
      settings.put(StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG, InMemoryDslStoreSuppliers.class);
    }
    settings.put(StreamsConfig.NUM_STANDBY_REPLICAS_CONFIG, (int) job.number("standby_replicas"));
    if (ordersTopics) {
      settings.put(StreamsConfig.MAX_TASK_IDLE_MS_CONFIG, job.number("idle_ms"));
    }
    settings.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, 1);
    // An instance that joins late gets its share at once and restores it, however large the state is by then.
    settings.put(StreamsConfig.ACCEPTABLE_RECOVERY_LAG_CONFIG, Long.MAX_VALUE);
    settings.put(EMIT_INTERVAL, 0L);
    settings.put(consumerPrefix(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG), "earliest");
    int sessionTimeoutMs = (int) job.number("session_timeout_ms");
    settings.put(consumerPrefix(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG), sessionTimeoutMs);
    settings.put(consumerPrefix(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG), sessionTimeoutMs / 3);
    settings.put(producerPrefix(ProducerConfig.LINGER_MS_CONFIG), job.number("linger_ms"));
    if (exactlyOnce) {
      settings.put(producerPrefix(ProducerConfig.TRANSACTION_TIMEOUT_CONFIG),
          Math.max(TRANSACTION_TIMEOUT_MS, 2 * (int) job.number("commit_ms")));
    }
    job.settings("conf").forEach((name, value) -> settings.put(known(name), value));
    return settings;
  }

  private static String known(String name) {
    if (name.startsWith(StreamsConfig.TOPIC_PREFIX) || StreamsConfig.configDef().names().contains(name)) {
      return name;
    }
    for (Map.Entry<String, Set<String>> client : CLIENTS.entrySet()) {
      String prefix = client.getKey();
      if (name.startsWith(prefix) && client.getValue().contains(name.substring(prefix.length()))) {
        return name;
      }
    }
    throw new UnknownSetting(name);
  }
}
