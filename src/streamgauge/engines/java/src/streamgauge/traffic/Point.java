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
 * What the customised stages remember of one measurement point.
 *
 * <p>A second is published when as many joined records are in it as the point has lanes, and once more when nothing can
 * be added to it any more, if something was added since.
 */
public final class Point {
  public static final Form<Point> FORM = new Form<>(Point::write, Point::read, false);

  /** A moment that never comes. */
  public static final long NEVER = Long.MAX_VALUE;

  /** How long the state of a point that has gone silent is kept. Others are tidied up when their next messages come. */
  private static final long IDLE_MS = 10_000;

  private static final int USUAL_BYTES = 256;

  /** The joined records of one second so far. */
  private static final class Second {
    final long endMs;
    Sums sums = Sums.NONE;

    /** The {@code n} of the result that was published last. Whatever is added to a result adds to its {@code n}. */
    int publishedN;

    /** Nothing can be added to its result any more, and it was published as it is. */
    boolean settled;

    Second(long endMs) {
      this.endMs = endMs;
    }
  }

  private int lanes;
  private long timerMs = NEVER;
  /** Messages whose other half has not come. A data set issues each pair once. */
  private final List<Half> waiting = new ArrayList<>();
  private final List<Second> seconds = new ArrayList<>();

  /** Joins the message with its other half; the joined record where that is the stage's result, else null. */
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

  /** What is to be published now; what nobody needs any more is forgotten. */
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

  /** The watermark at which {@link #settle} has something to do though no message has come. */
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

  /** Nothing is remembered. */
  public boolean isEmpty() {
    return waiting.isEmpty() && seconds.isEmpty();
  }

  /** The one timer that the engine has set for the point, or {@link #NEVER}. */
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

  /** The joined records behind the result of that second. */
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

  /** The compact form in which an engine moves and keeps it. */
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
