package streamgauge.traffic;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import streamgauge.Form;
import streamgauge.Json;

/** Flow and speed of one lane, joined. Its event time is the append time of the flow message. */
public record Pair(String timestamp, String id, String lane, int lanes, int flow, int speed, long eventMs) {
  public static final Form<Pair> FORM = new Form<>(Pair::write, Pair::read, true);

  public static Pair of(String id, Half flow, Half speed) {
    return new Pair(flow.timestamp(), id, flow.lane(), flow.lanes(), flow.flow(), speed.speed(), flow.appendedMs());
  }

  public byte[] toJson() {
    return Json.object(json -> {
      json.writeStringField("timestamp", timestamp);
      json.writeStringField("id", id);
      json.writeStringField("lane", lane);
      json.writeNumberField("lanes", lanes);
      json.writeNumberField("flow", flow);
      json.writeNumberField("speed", speed);
    });
  }

  /** Writes the compact form. */
  public void write(DataOutput out) throws IOException {
    out.writeUTF(timestamp);
    out.writeUTF(id);
    out.writeUTF(lane);
    out.writeInt(lanes);
    out.writeInt(flow);
    out.writeInt(speed);
    out.writeLong(eventMs);
  }

  public static Pair read(DataInput in) throws IOException {
    return new Pair(in.readUTF(), in.readUTF(), in.readUTF(), in.readInt(), in.readInt(), in.readInt(), in.readLong());
  }
}
