package streamgauge.flink.queue;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.apache.flink.api.connector.source.SourceSplit;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/** One queue, and how far it was read. */
record QueueSplit(String address, long offset) implements SourceSplit {
  static final SimpleVersionedSerializer<QueueSplit> SERIALIZER = new Serializer();

  @Override
  public String splitId() {
    return address;
  }

  private static final class Serializer implements SimpleVersionedSerializer<QueueSplit> {
    @Override
    public int getVersion() {
      return 1;
    }

    @Override
    public byte[] serialize(QueueSplit split) {
      byte[] address = split.address.getBytes(StandardCharsets.UTF_8);
      return ByteBuffer.allocate(Long.BYTES + address.length).putLong(split.offset).put(address).array();
    }

    @Override
    public QueueSplit deserialize(int version, byte[] bytes) {
      ByteBuffer buffer = ByteBuffer.wrap(bytes);
      long offset = buffer.getLong();
      String address = StandardCharsets.UTF_8.decode(buffer).toString();
      return new QueueSplit(address, offset);
    }
  }
}
