package streamgauge.traffic;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import streamgauge.Form;

/** The fields of a flow or speed message that a join needs, besides the id of its point. */
public record Half(String timestamp, String lane, int lanes, int flow, int speed, long appendedMs) {
  public static final Form<Half> FORM = new Form<>(Half::write, Half::read, true);

  public static Half of(Message message, long appendedMs) {
    return new Half(message.timestamp(), message.lane(), message.lanes(), message.flow(), message.speed(), appendedMs);
  }

  /**
   * Whether these are the flow and the speed message of the same round and lane of a point. A message never matches a
   * replay of itself.
   */
  public boolean belongsTo(Half other) {
    return isFlow() != other.isFlow() && lane.equals(other.lane) && timestamp.equals(other.timestamp);
  }

  private boolean isFlow() {
    return flow != Message.ABSENT;
  }

  /** Writes the compact form. */
  public void write(DataOutput out) throws IOException {
    out.writeUTF(timestamp);
    out.writeUTF(lane);
    out.writeInt(lanes);
    out.writeInt(flow);
    out.writeInt(speed);
    out.writeLong(appendedMs);
  }

  public static Half read(DataInput in) throws IOException {
    return new Half(in.readUTF(), in.readUTF(), in.readInt(), in.readInt(), in.readInt(), in.readLong());
  }
}
