package streamgauge.power;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.Serializable;
import streamgauge.Job;

/** The groups that sensors are in, and the groups that those are in, as the job file lists them. */
public final class Tree implements Serializable {
  private static final long serialVersionUID = 1L;

  private final int[][] parents;

  private Tree(int[][] parents) {
    this.parents = parents;
  }

  public static Tree of(Job job) {
    return new Tree(job.data("parents")
            .valueStream()
            .map(level -> level.valueStream().mapToInt(JsonNode::asInt).toArray())
            .toArray(int[][] ::new));
  }

  /** The number of levels of groups. */
  public int height() {
    return parents.length;
  }

  /** The group of the level above; sensors are level 0. */
  public long above(int level, long member) {
    return parents[level][Math.toIntExact(member)];
  }
}
