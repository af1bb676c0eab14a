package streamgauge;

import com.fasterxml.jackson.core.JsonEncoding;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.util.ByteArrayBuilder;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;

/** JSON objects as bytes. */
public final class Json {
  /** Field names come from a fixed set: interning them would only cost a lookup. */
  public static final JsonFactory FACTORY =
      new JsonFactoryBuilder().disable(JsonFactory.Feature.INTERN_FIELD_NAMES).build();

  static final ObjectMapper MAPPER = new ObjectMapper(FACTORY);

  private static final int USUAL_BYTES = 256;

  /** Writes the fields of one object. */
  public interface Fields {
    void write(JsonGenerator json) throws IOException;
  }

  private Json() {}

  public static byte[] object(Fields fields) {
    try (ByteArrayBuilder bytes = new ByteArrayBuilder(USUAL_BYTES)) {
      try (JsonGenerator json = FACTORY.createGenerator(bytes, JsonEncoding.UTF8)) {
        json.writeStartObject();
        fields.write(json);
        json.writeEndObject();
      }
      return bytes.toByteArray();
    } catch (IOException problem) {
      throw new UncheckedIOException(problem);
    }
  }
}
