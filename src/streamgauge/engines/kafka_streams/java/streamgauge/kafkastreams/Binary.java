package streamgauge.kafkastreams;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import streamgauge.Form;

/** Serdes for values with a compact form. */
public final class Binary {
  public static final Serde<byte[]> BYTES = Serdes.ByteArray();

  private static final int USUAL_BYTES = 64;

  private Binary() {}

  public static <T> Serde<T> serde(Form<T> form) {
    return Serdes.serdeFrom((topic, value)
                                -> value == null ? null : write(form.writer(), value),
        (topic, bytes) -> bytes == null ? null : read(form.reader(), bytes));
  }

  private static <T> byte[] write(Form.Writer<T> writer, T value) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(USUAL_BYTES);
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      writer.write(value, out);
    } catch (IOException problem) {
      throw new UncheckedIOException(problem);
    }
    return bytes.toByteArray();
  }

  private static <T> T read(Form.Reader<T> reader, byte[] bytes) {
    try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
      return reader.read(in);
    } catch (IOException problem) {
      throw new UncheckedIOException(problem);
    }
  }
}
