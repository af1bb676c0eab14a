import java.util.Arrays;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema;
import org.apache.flink.kafka.shaded.org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.flink.kafka.shaded.org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.Collector;

/** The baseline of flink_identity.py: copies topics to a topic, without streamgauge. */
public final class PlainFlink {
  private PlainFlink() {}

  /** Arguments: bootstrap, consumer group, output, inputs. */
  public static void main(String[] arguments) throws Exception {
    String bootstrap = arguments[0];
    String output = arguments[2];
    StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
    KafkaSource<Tuple2<byte[], byte[]>> source = KafkaSource.<Tuple2<byte[], byte[]>>builder()
                                                     .setBootstrapServers(bootstrap)
                                                     .setGroupId(arguments[1])
                                                     .setTopics(Arrays.copyOfRange(arguments, 3, arguments.length))
                                                     .setStartingOffsets(OffsetsInitializer.earliest())
                                                     .setDeserializer(new Reading())
                                                     .build();
    KafkaRecordSerializationSchema<Tuple2<byte[], byte[]>> writing =
        (record, context, timestamp) -> new ProducerRecord<>(output, record.f0, record.f1);
    KafkaSink<Tuple2<byte[], byte[]>> sink = KafkaSink.<Tuple2<byte[], byte[]>>builder()
                                                 .setBootstrapServers(bootstrap)
                                                 .setProperty("linger.ms", "0")
                                                 .setRecordSerializer(writing)
                                                 .setDeliveryGuarantee(DeliveryGuarantee.AT_LEAST_ONCE)
                                                 .build();
    environment.fromSource(source, WatermarkStrategy.noWatermarks(), "input").sinkTo(sink);
    environment.executeAsync("plain");
  }

  private static final class Reading implements KafkaRecordDeserializationSchema<Tuple2<byte[], byte[]>> {
    private static final long serialVersionUID = 1;

    @Override
    public void deserialize(ConsumerRecord<byte[], byte[]> record, Collector<Tuple2<byte[], byte[]>> out) {
      out.collect(Tuple2.of(record.key(), record.value()));
    }

    @Override
    public TypeInformation<Tuple2<byte[], byte[]>> getProducedType() {
      return Types.TUPLE(Types.PRIMITIVE_ARRAY(Types.BYTE), Types.PRIMITIVE_ARRAY(Types.BYTE));
    }
  }
}
