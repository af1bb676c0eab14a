package streamgauge.flink;

import org.apache.flink.api.common.serialization.SerializerConfig;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeutils.TypeSerializer;

/** The type of a class that Flink serialises in its compact form. */
public final class CompactType<T> extends TypeInformation<T> {
  private static final long serialVersionUID = 1L;

  private final Class<T> type;

  public CompactType(Class<T> type) {
    this.type = type;
  }

  @Override
  public TypeSerializer<T> createSerializer(SerializerConfig config) {
    return new Compact<>(type);
  }

  @Override
  public Class<T> getTypeClass() {
    return type;
  }

  @Override
  public boolean isBasicType() {
    return false;
  }

  @Override
  public boolean isTupleType() {
    return false;
  }

  @Override
  public boolean isKeyType() {
    return false;
  }

  @Override
  public int getArity() {
    return 1;
  }

  @Override
  public int getTotalFields() {
    return 1;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof CompactType;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof CompactType<?> that && type == that.type;
  }

  @Override
  public int hashCode() {
    return type.hashCode();
  }

  @Override
  public String toString() {
    return "Compact<" + type.getSimpleName() + ">";
  }
}
