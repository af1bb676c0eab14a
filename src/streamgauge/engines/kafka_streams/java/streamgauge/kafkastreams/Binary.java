package streamgauge.kafkastreams;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInput;
import java.io.DataInputStream;
import java.io.DataOutput;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;

/** How values with a compact form are kept in a store. */
final class Binary {
  static final Serde<byte[]> BYTES = Serdes.ByteArray();

  private static final int USUAL_BYTES = 64;

  interface Writer<T> {
    void write(T value, DataOutput out) throws IOException;
  }

  interface Reader<T> {
    T read(DataInput in) throws IOException;
  }

  private Binary() {}

  static <T> Serde<T> serde(Writer<T> writer, Reader<T> reader) {
    return Serdes.serdeFrom((topic, value)
                                -> value == null ? null : write(writer, value),
        (topic, bytes) -> bytes == null ? null : read(reader, bytes));
  }

  private static <T> byte[] write(Writer<T> writer, T value) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(USUAL_BYTES);
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      writer.write(value, out);
    } catch (IOException problem) {
      throw new UncheckedIOException(problem);
    }
    return bytes.toByteArray();
  }

  private static <T> T read(Reader<T> reader, byte[] bytes) {
    try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
      return reader.read(in);
    } catch (IOException problem) {
      throw new UncheckedIOException(problem);
    }
  }
}
