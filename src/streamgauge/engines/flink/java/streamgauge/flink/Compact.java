package streamgauge.flink;

import java.io.IOException;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSchemaCompatibility;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.core.memory.DataOutputView;
import streamgauge.Form;

/** Serialises in the compact form of the shared classes. By default Flink would use reflection. */
public final class Compact<T> extends TypeSerializer<T> {
  private static final long serialVersionUID = 1L;

  private static final int USUAL_BYTES = 256;

  private final Class<T> type;
  private transient Form<T> form;

  Compact(Class<T> type) {
    this.type = type;
    this.form = Form.of(type);
  }

  /** Java's serialisation ships it to the tasks without its form. */
  private Object readResolve() {
    return new Compact<>(type);
  }

  @Override
  public void serialize(T value, DataOutputView out) throws IOException {
    form.writer().write(value, out);
  }

  @Override
  public T deserialize(DataInputView in) throws IOException {
    return form.reader().read(in);
  }

  @Override
  public T deserialize(T reuse, DataInputView in) throws IOException {
    return deserialize(in);
  }

  @Override
  public T copy(T value) {
    if (form.immutable()) {
      return value;
    }
    try {
      DataOutputSerializer out = new DataOutputSerializer(USUAL_BYTES);
      serialize(value, out);
      return deserialize(new DataInputDeserializer(out.getSharedBuffer(), 0, out.length()));
    } catch (IOException problem) {
      throw new IllegalStateException(problem);
    }
  }

  @Override
  public T copy(T value, T reuse) {
    return copy(value);
  }

  @Override
  public void copy(DataInputView in, DataOutputView out) throws IOException {
    serialize(deserialize(in), out);
  }

  @Override
  public boolean isImmutableType() {
    return form.immutable();
  }

  @Override
  public TypeSerializer<T> duplicate() {
    return this;
  }

  @Override
  public T createInstance() {
    return null;
  }

  @Override
  public int getLength() {
    return -1;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Compact<?> that && type == that.type;
  }

  @Override
  public int hashCode() {
    return type.hashCode();
  }

  @Override
  public TypeSerializerSnapshot<T> snapshotConfiguration() {
    return new Snapshot<>(type);
  }

  /** What a checkpoint records of the serialiser: its type. A job never outlives the classes it was compiled with. */
  public static final class Snapshot<T> implements TypeSerializerSnapshot<T> {
    private Class<T> type;

    /** For Flink, which then calls {@link #readSnapshot}. */
    public Snapshot() {}

    private Snapshot(Class<T> type) {
      this.type = type;
    }

    @Override
    public int getCurrentVersion() {
      return 1;
    }

    @Override
    public void writeSnapshot(DataOutputView out) throws IOException {
      out.writeUTF(type.getName());
    }

    @Override
    @SuppressWarnings("unchecked")
    public void readSnapshot(int version, DataInputView in, ClassLoader classLoader) throws IOException {
      try {
        type = (Class<T>) Class.forName(in.readUTF(), true, classLoader);
      } catch (ClassNotFoundException problem) {
        throw new IOException(problem);
      }
    }

    @Override
    public TypeSerializer<T> restoreSerializer() {
      return new Compact<>(type);
    }

    @Override
    public TypeSerializerSchemaCompatibility<T> resolveSchemaCompatibility(TypeSerializerSnapshot<T> old) {
      return old instanceof Snapshot<T> that && type == that.type ? TypeSerializerSchemaCompatibility.compatibleAsIs()
                                                                  : TypeSerializerSchemaCompatibility.incompatible();
    }
  }
}
