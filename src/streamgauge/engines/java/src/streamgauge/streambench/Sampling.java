package streamgauge.streambench;

import java.io.Serializable;
import streamgauge.Job;
import streamgauge.Text;

/** Selects the records of a sample: those whose sequence number times a constant is small modulo 2^32. */
public record Sampling(long bound) implements Serializable {
  private static final long FACTOR = 2_654_435_761L;
  private static final long LOW_31_BITS = (1L << 31) - 1;
  private static final long LOW_32_BITS = (1L << 32) - 1;

  public static Sampling of(Job job) {
    return new Sampling((job.parameter("sample_percent") << 32) / 100);
  }

  /** {@code key} is the record's sequence number in decimal digits. */
  public boolean holds(byte[] key) {
    return ((Text.number(key) & LOW_31_BITS) * FACTOR & LOW_32_BITS) < bound;
  }
}
