package streamgauge.streambench;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import streamgauge.Form;
import streamgauge.Json;

/** Statistics of the numbers so far. */
public record Summary(long n, long min, long max, long sum) {
  public static final Form<Summary> FORM = new Form<>(Summary::write, Summary::read, true);

  public static final Summary NONE = new Summary(0, Long.MAX_VALUE, Long.MIN_VALUE, 0);

  /** Throws ArithmeticException if the sum exceeds 64 bits. */
  public Summary add(long number) {
    return new Summary(n + 1, Math.min(min, number), Math.max(max, number), Math.addExact(sum, number));
  }

  public byte[] toJson() {
    return Json.object(json -> {
      json.writeNumberField("n", n);
      json.writeNumberField("min", min);
      json.writeNumberField("max", max);
      json.writeNumberField("sum", sum);
      json.writeNumberField("mean", (double) sum / n);
    });
  }

  public void write(DataOutput out) throws IOException {
    out.writeLong(n);
    out.writeLong(min);
    out.writeLong(max);
    out.writeLong(sum);
  }

  public static Summary read(DataInput in) throws IOException {
    return new Summary(in.readLong(), in.readLong(), in.readLong(), in.readLong());
  }
}
