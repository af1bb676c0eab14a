package streamgauge.traffic;

import java.io.Serializable;
import streamgauge.Job;

/** What a customised stage computes for each measurement point. */
public record Stage(Kind kind, long joinBoundMs, int[] lookBacksS) implements Serializable {
  public enum Kind { JOIN, TUMBLING, SLIDING }

  private static final int[] NONE = {};

  public static Stage join(Job job) {
    return new Stage(Kind.JOIN, job.parameter("join_bound_ms"), NONE);
  }

  public static Stage tumbling(Job job) {
    return new Stage(Kind.TUMBLING, job.parameter("join_bound_ms"), NONE);
  }

  public static Stage sliding(Job job) {
    return new Stage(Kind.SLIDING, job.parameter("join_bound_ms"), Changes.lookBacksS(job));
  }

  /** How far a result looks back. */
  long oldestMs() {
    return lookBacksS.length == 0 ? 0 : lookBacksS[lookBacksS.length - 1] * Sums.SECOND_MS;
  }

  /** The watermark at which the second that ends at {@code endMs} is final. */
  long finalMs(long endMs) {
    return endMs + joinBoundMs;
  }
}
