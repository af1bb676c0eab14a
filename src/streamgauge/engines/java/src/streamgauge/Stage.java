package streamgauge;

import java.io.Serializable;
import java.util.Locale;

/** What a customised stage computes of each measurement point. */
public record Stage(Kind kind, long joinBoundMs, int[] lookBacksS) implements Serializable {
  public enum Kind { JOIN, TUMBLING, SLIDING }

  private static final int[] NONE = {};

  public static Stage of(Job job) {
    Kind kind = Kind.valueOf(job.stage().toUpperCase(Locale.ROOT));
    int[] lookBacksS = kind == Kind.SLIDING ? Changes.lookBacksS(job.pipeline()) : NONE;
    return new Stage(kind, job.parameter("join_bound_ms"), lookBacksS);
  }

  /** How far a result looks back. */
  long oldestMs() {
    return lookBacksS.length == 0 ? 0 : lookBacksS[lookBacksS.length - 1] * Sums.SECOND_MS;
  }

  /** The watermark from which on no record of the second that ends there can be joined any more. */
  long finalMs(long endMs) {
    return endMs + joinBoundMs;
  }
}
