package streamgauge;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;

/** The compact form in which an engine moves and keeps values of a class, which holds it in a constant {@code FORM}. */
public record Form<T>(Writer<T> writer, Reader<T> reader, boolean immutable) {
  public interface Writer<T> {
    void write(T value, DataOutput out) throws IOException;
  }

  public interface Reader<T> {
    T read(DataInput in) throws IOException;
  }

  /** That of a class; throws IllegalArgumentException where it has none. */
  @SuppressWarnings("unchecked")
  public static <T> Form<T> of(Class<T> type) {
    try {
      return (Form<T>) type.getField("FORM").get(null);
    } catch (ReflectiveOperationException problem) {
      throw new IllegalArgumentException(type + " has no compact form", problem);
    }
  }
}
