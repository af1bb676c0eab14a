package streamgauge.traffic;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInput;
import java.io.DataInputStream;
import java.io.DataOutput;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import streamgauge.Form;

/**
 * The state of one measurement point in the customised stages.
 *
 * <p>A second is published when it has one joined record for each lane of the point, and again when it is final, if
 * records were added since.
 */
public final class Point {
  public static final Form<Point> FORM = new Form<>(Point::write, Point::read, false);

  /** A moment that never comes. */
  public static final long NEVER = Long.MAX_VALUE;

  /** How long the state of a silent point is kept. Active points are cleaned up with each message. */
  private static final long IDLE_MS = 10_000;

  private static final int USUAL_BYTES = 256;

  /** The joined records of one second so far. */
  private static final class Second {
    final long endMs;
    Sums sums = Sums.NONE;

    /** The {@code n} of the last published result. Every record added to a result increases its {@code n}. */
    int publishedN;

    /** Its result is final and has been published. */
    boolean settled;

    Second(long endMs) {
      this.endMs = endMs;
    }
  }

  private int lanes;
  private long timerMs = NEVER;
  /** Messages whose counterpart has not arrived. A data set contains each pair once. */
  private final List<Half> waiting = new ArrayList<>();
  private final List<Second> seconds = new ArrayList<>();

  /** Joins the message with its counterpart; returns the joined record if that is the stage's result, else null. */
  public byte[] take(Stage stage, Message message, long appendedMs) {
    Half half = Half.of(message, appendedMs);
    Half other = removeOther(half);
    if (other == null) {
      waiting.add(half);
      return null;
    }
    if (Math.abs(appendedMs - other.appendedMs()) > stage.joinBoundMs()) {
      return null;
    }
    Pair pair = message.isFlow() ? Pair.of(message.id(), half, other) : Pair.of(message.id(), other, half);
    lanes = pair.lanes();
    if (stage.kind() == Stage.Kind.JOIN) {
      return pair.toJson();
    }
    Second second = secondOf(Sums.endMs(pair.eventMs()));
    second.sums = second.sums.add(pair);
    return null;
  }

  /** The results to publish now. Drops state that is no longer needed. */
  public List<byte[]> settle(Stage stage, String id, long watermarkMs) {
    List<byte[]> results = List.of();
    for (Second second : seconds) {
      if (second.settled) {
        continue;
      }
      second.settled = stage.finalMs(second.endMs) <= watermarkMs;
      boolean complete = second.sums.n() >= lanes && second.publishedN == 0;
      if (!complete && !second.settled) {
        continue;
      }
      int n = needed(stage, second);
      if (n != second.publishedN) {
        second.publishedN = n;
        results = results.isEmpty() ? new ArrayList<>() : results;
        results.add(result(stage, id, second));
      }
    }
    seconds.removeIf(second -> stage.finalMs(second.endMs) + stage.oldestMs() <= watermarkMs);
    waiting.removeIf(half -> half.appendedMs() + stage.joinBoundMs() < watermarkMs);
    return results;
  }

  /** The watermark at which {@link #settle} must be called even if no message arrives. */
  public long dueMs(Stage stage) {
    long dueMs = NEVER;
    long lastMs = Long.MIN_VALUE;
    for (Second second : seconds) {
      lastMs = Math.max(lastMs, second.endMs);
      if (!second.settled && needed(stage, second) != second.publishedN) {
        dueMs = Math.min(dueMs, stage.finalMs(second.endMs));
      }
    }
    if (dueMs != NEVER) {
      return dueMs;
    }
    for (Half half : waiting) {
      lastMs = Math.max(lastMs, half.appendedMs());
    }
    return lastMs == Long.MIN_VALUE ? NEVER : stage.finalMs(lastMs) + stage.oldestMs() + IDLE_MS;
  }

  /** Whether the state is empty. */
  public boolean isEmpty() {
    return waiting.isEmpty() && seconds.isEmpty();
  }

  /** The timer that is set for the point, or {@link #NEVER}. */
  public long timerMs() {
    return timerMs;
  }

  public void setTimerMs(long timerMs) {
    this.timerMs = timerMs;
  }

  private Half removeOther(Half half) {
    for (int i = 0; i < waiting.size(); i++) {
      if (waiting.get(i).belongsTo(half)) {
        return waiting.remove(i);
      }
    }
    return null;
  }

  private Second secondOf(long endMs) {
    Second second = find(endMs);
    if (second == null) {
      second = new Second(endMs);
      seconds.add(second);
    }
    return second;
  }

  private Second find(long endMs) {
    for (Second second : seconds) {
      if (second.endMs == endMs) {
        return second;
      }
    }
    return null;
  }

  /** The number of joined records in the result of a second. */
  private int needed(Stage stage, Second second) {
    int n = second.sums.n();
    for (int back : stage.lookBacksS()) {
      Second before = find(second.endMs - back * Sums.SECOND_MS);
      n += before == null ? 0 : before.sums.n();
    }
    return n;
  }

  private byte[] result(Stage stage, String id, Second second) {
    int[] lookBacksS = stage.lookBacksS();
    if (stage.kind() == Stage.Kind.TUMBLING) {
      return second.sums.toJson(id, second.endMs);
    }
    Sums[] before = new Sums[lookBacksS.length];
    for (int i = 0; i < lookBacksS.length; i++) {
      Second earlier = find(second.endMs - lookBacksS[i] * Sums.SECOND_MS);
      before[i] = earlier == null ? null : earlier.sums;
    }
    return Changes.toJson(id, second.endMs, lookBacksS, second.sums, before);
  }

  /** Writes the compact form. */
  public void write(DataOutput out) throws IOException {
    out.writeInt(lanes);
    out.writeLong(timerMs);
    out.writeInt(waiting.size());
    for (Half half : waiting) {
      half.write(out);
    }
    out.writeInt(seconds.size());
    for (Second second : seconds) {
      out.writeLong(second.endMs);
      second.sums.write(out);
      out.writeInt(second.publishedN);
      out.writeBoolean(second.settled);
    }
  }

  public static Point read(DataInput in) throws IOException {
    Point point = new Point();
    point.lanes = in.readInt();
    point.timerMs = in.readLong();
    for (int halves = in.readInt(); halves > 0; halves--) {
      point.waiting.add(Half.read(in));
    }
    for (int count = in.readInt(); count > 0; count--) {
      Second second = new Second(in.readLong());
      second.sums = Sums.read(in);
      second.publishedN = in.readInt();
      second.settled = in.readBoolean();
      point.seconds.add(second);
    }
    return point;
  }

  public byte[] toBytes() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(USUAL_BYTES);
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      write(out);
    } catch (IOException problem) {
      throw new UncheckedIOException(problem);
    }
    return bytes.toByteArray();
  }

  public static Point fromBytes(byte[] bytes) {
    try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
      return read(in);
    } catch (IOException problem) {
      throw new UncheckedIOException(problem);
    }
  }
}
