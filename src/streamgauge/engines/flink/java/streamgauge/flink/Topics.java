package streamgauge.flink;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.flink.api.common.eventtime.SerializableTimestampAssigner;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.PrimitiveArrayTypeInfo;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.typeutils.TupleTypeInfo;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema;
import org.apache.flink.kafka.shaded.org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.flink.kafka.shaded.org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamSource;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.Collector;
import streamgauge.Job;
import streamgauge.flink.queue.QueueSource;

/** Reads the inputs and publishes the results of jobs on Kafka. A record is its key and value, as bytes. */
public final class Topics {
  private static final String SHADED = "org.apache.flink.kafka.shaded.";

  public static final TypeInformation<Tuple2<byte[], byte[]>> RECORD = new TupleTypeInfo<>(
      PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO, PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO);

  private Topics() {}

  /** All inputs in one stream, without event time. */
  public static DataStreamSource<Tuple2<byte[], byte[]>> untimed(StreamExecutionEnvironment environment, Job job) {
    return environment.fromSource(source(job, job.inputs()), WatermarkStrategy.noWatermarks(), "input", RECORD);
  }

  /**
   * As untimed. With the option redistribute, only as many tasks read as there are partitions; their records are spread
   * evenly over all tasks.
   */
  public static DataStream<Tuple2<byte[], byte[]>> spread(StreamExecutionEnvironment environment, Job job) {
    DataStreamSource<Tuple2<byte[], byte[]>> input = untimed(environment, job);
    if (!job.flag("redistribute")) {
      return input;
    }
    int partitions = job.inputs().size() * job.partitions();
    return input.setParallelism(Math.min(environment.getParallelism(), partitions)).rebalance();
  }

  /** One input, also from queues, without event time. */
  public static DataStream<Tuple2<byte[], byte[]>> untimed(
      StreamExecutionEnvironment environment, Job job, String input) {
    return environment.fromSource(one(job, input), WatermarkStrategy.noWatermarks(), input, RECORD)
        .setParallelism(Math.min(environment.getParallelism(), job.partitions()));
  }

  /** One input whose event time is its append time minus {@code setBackMs}; {@code behindMs} delays its watermark. */
  public static DataStream<Tuple2<byte[], byte[]>> timed(
      StreamExecutionEnvironment environment, Job job, String input, long setBackMs, long behindMs) {
    return timed(environment, job, input, (record, appendedMs) -> appendedMs - setBackMs, behindMs);
  }

  /** One input, also from queues, whose records carry their event time. */
  public static DataStream<Tuple2<byte[], byte[]>> timedBy(StreamExecutionEnvironment environment, Job job,
      String input, SerializableTimestampAssigner<Tuple2<byte[], byte[]>> eventTime) {
    return timed(environment, job, input, eventTime, 0);
  }

  private static DataStream<Tuple2<byte[], byte[]>> timed(StreamExecutionEnvironment environment, Job job, String input,
      SerializableTimestampAssigner<Tuple2<byte[], byte[]>> eventTimeMs, long behindMs) {
    Duration behind = Duration.ofMillis(job.parameter("out_of_order_ms") + behindMs);
    WatermarkStrategy<Tuple2<byte[], byte[]>> eventTime =
        WatermarkStrategy.<Tuple2<byte[], byte[]>>forBoundedOutOfOrderness(behind)
            .withTimestampAssigner(eventTimeMs)
            .withIdleness(Duration.ofMillis(job.number("idle_ms")));
    return environment
        .fromSource(one(job, input), eventTime, input, RECORD)
        // A reader without a partition would hold back the watermark until it counts as idle.
        .setParallelism(Math.min(environment.getParallelism(), job.partitions()));
  }

  /** A result with a string key. */
  public static Tuple2<byte[], byte[]> result(String key, byte[] value) {
    return Tuple2.of(key.getBytes(StandardCharsets.UTF_8), value);
  }

  static KafkaSink<Tuple2<byte[], byte[]>> sink(Job job) {
    boolean exactlyOnce = job.text("delivery").equals("exactly-once");
    Properties producer = clientSettings(job);
    producer.setProperty("linger.ms", String.valueOf(job.number("linger_ms")));
    producer.setProperty("transaction.timeout.ms", String.valueOf(job.number("transaction_timeout_ms")));
    return KafkaSink.<Tuple2<byte[], byte[]>>builder()
        .setBootstrapServers(job.bootstrap())
        .setKafkaProducerConfig(producer)
        .setRecordSerializer(new Writing(job.output()))
        .setDeliveryGuarantee(exactlyOnce ? DeliveryGuarantee.EXACTLY_ONCE : DeliveryGuarantee.AT_LEAST_ONCE)
        .setTransactionalIdPrefix(job.group())
        .build();
  }

  /** Flink's connector contains a Kafka client of its own, in a package of its own. */
  private static Properties clientSettings(Job job) {
    Properties settings = job.clientSettings();
    settings.computeIfPresent(
        "sasl.jaas.config", (key, jaas) -> jaas.toString().replace("org.apache.kafka.", SHADED + "org.apache.kafka."));
    return settings;
  }

  private static Source<Tuple2<byte[], byte[]>, ?, ?> one(Job job, String input) {
    return job.usesQueues() ? new QueueSource(List.of(job.endpoint("queues").split(",")), input)
                            : source(job, List.of(job.input(input)));
  }

  private static KafkaSource<Tuple2<byte[], byte[]>> source(Job job, List<String> topics) {
    return KafkaSource.<Tuple2<byte[], byte[]>>builder()
        .setBootstrapServers(job.bootstrap())
        .setTopics(topics)
        .setGroupId(job.group())
        .setProperties(clientSettings(job))
        .setStartingOffsets(OffsetsInitializer.earliest())
        // The topics of a run never get more partitions.
        .setProperty("partition.discovery.interval.ms", "-1")
        .setDeserializer(new Reading())
        .build();
  }

  private static final class Reading implements KafkaRecordDeserializationSchema<Tuple2<byte[], byte[]>> {
    private static final long serialVersionUID = 1L;

    @Override
    public void deserialize(ConsumerRecord<byte[], byte[]> record, Collector<Tuple2<byte[], byte[]>> out) {
      out.collect(Tuple2.of(record.key(), record.value()));
    }

    @Override
    public TypeInformation<Tuple2<byte[], byte[]>> getProducedType() {
      return RECORD;
    }
  }

  private static final class Writing implements KafkaRecordSerializationSchema<Tuple2<byte[], byte[]>> {
    private static final long serialVersionUID = 1L;

    private final String topic;

    Writing(String topic) {
      this.topic = topic;
    }

    @Override
    public ProducerRecord<byte[], byte[]> serialize(
        Tuple2<byte[], byte[]> record, KafkaSinkContext context, Long timestamp) {
      return new ProducerRecord<>(topic, record.f0, record.f1);
    }
  }
}
