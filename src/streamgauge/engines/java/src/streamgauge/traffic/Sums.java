package streamgauge.traffic;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import streamgauge.Form;
import streamgauge.Json;

/** The joined records of one measurement point and second: their number, cars, and sum of speeds. */
public record Sums(int n, long flow, long speeds) {
  public static final Form<Sums> FORM = new Form<>(Sums::write, Sums::read, true);

  public static final long SECOND_MS = 1000;

  public static final Sums NONE = new Sums(0, 0, 0);

  /** Size of the compact form. */
  public static final int BYTES = Integer.BYTES + 2 * Long.BYTES;

  /** The end of the second that contains {@code eventMs}; a full second belongs to the next one. */
  public static long endMs(long eventMs) {
    return (Math.floorDiv(eventMs, SECOND_MS) + 1) * SECOND_MS;
  }

  public Sums add(Pair pair) {
    return new Sums(n + 1, flow + pair.flow(), speeds + pair.speed());
  }

  public Sums merge(Sums other) {
    return new Sums(n + other.n, flow + other.flow, speeds + other.speeds);
  }

  /** The mean speed. */
  public double speed() {
    return (double) speeds / n;
  }

  public byte[] toJson(String id, long windowEndMs) {
    return Json.object(json -> {
      json.writeStringField("id", id);
      json.writeNumberField("window_end_ms", windowEndMs);
      json.writeNumberField("flow", flow);
      json.writeNumberField("speed", speed());
      json.writeNumberField("n", n);
    });
  }

  /** Writes the compact form. */
  public void write(DataOutput out) throws IOException {
    out.writeInt(n);
    out.writeLong(flow);
    out.writeLong(speeds);
  }

  public static Sums read(DataInput in) throws IOException {
    return new Sums(in.readInt(), in.readLong(), in.readLong());
  }
}
