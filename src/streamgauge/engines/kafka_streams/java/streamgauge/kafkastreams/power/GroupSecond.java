package streamgauge.kafkastreams.power;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import streamgauge.Form;
import streamgauge.power.Tree;

/** A group of some level of a tree, and the end of a second. */
record GroupSecond(long group, long endMs) {
  static final Form<GroupSecond> FORM = new Form<>(GroupSecond::write, GroupSecond::read, true);

  /** The same second of the group above this one, which is of that level. */
  GroupSecond above(Tree tree, int level) {
    return new GroupSecond(tree.above(level, group), endMs);
  }

  private void write(DataOutput out) throws IOException {
    out.writeLong(group);
    out.writeLong(endMs);
  }

  private static GroupSecond read(DataInput in) throws IOException {
    return new GroupSecond(in.readLong(), in.readLong());
  }
}
