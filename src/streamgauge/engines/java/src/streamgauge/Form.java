package streamgauge;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;

/** The compact serialised form of a class, which exposes it as the constant {@code FORM}. */
public record Form<T>(Writer<T> writer, Reader<T> reader, boolean immutable) {
  public interface Writer<T> {
    void write(T value, DataOutput out) throws IOException;
  }

  public interface Reader<T> {
    T read(DataInput in) throws IOException;
  }

  /** The form of a class; throws IllegalArgumentException if it has none. */
  @SuppressWarnings("unchecked")
  public static <T> Form<T> of(Class<T> type) {
    try {
      return (Form<T>) type.getField("FORM").get(null);
    } catch (ReflectiveOperationException problem) {
      throw new IllegalArgumentException(type + " has no compact form", problem);
    }
  }
}
