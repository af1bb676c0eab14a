package streamgauge.kafkastreams.power;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KGroupedTable;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.Windowed;
import streamgauge.Job;
import streamgauge.kafkastreams.Binary;
import streamgauge.kafkastreams.Program;
import streamgauge.kafkastreams.StateStores;
import streamgauge.power.Reading;
import streamgauge.power.Tree;
import streamgauge.power.Usage;

/**
 * The sum of each group and second. The lowest groups are windows over readings. Every level above is a table over the
 * one below: an update takes the old sum of a member away and adds the new one.
 */
public final class Hierarchy implements Program {
  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final Serde<GroupSecond> GROUP = Binary.serde(GroupSecond.FORM);

  @Override
  public Topology topology(Job job) {
    Tree tree = Tree.of(job);
    StreamsBuilder builder = new StreamsBuilder();
    KTable<Windowed<Long>, Usage> lowest = lowest(Windows.readings(builder, job), job, tree);
    publish(lowest.toStream((second, usage) -> group(second)), 1, job);
    if (tree.height() > 1) {
      KGroupedTable<GroupSecond, Usage> members =
          lowest.groupBy((second, usage) -> KeyValue.pair(group(second).above(tree, 1), usage), grouped(2));
      above(members, 2, tree, job);
    }
    return builder.build();
  }

  private static KTable<Windowed<Long>, Usage> lowest(KStream<byte[], byte[]> readings, Job job, Tree tree) {
    return readings.map((key, reading) -> KeyValue.pair(tree.above(0, Reading.sensor(reading)), Reading.watts(reading)))
        .groupByKey(Grouped.with(name(1), Serdes.Long(), Serdes.Long()))
        .windowedBy(TimeWindows.ofSizeAndGrace(SECOND, StateStores.LONGEST_GAP))
        .aggregate(()
                       -> Usage.NONE,
            (group, watts, usage)
                -> usage.add(watts),
            StateStores.windows(job, SECOND, StateStores.LONGEST_GAP, Serdes.Long(), Windows.USAGE));
  }

  private static void above(KGroupedTable<GroupSecond, Usage> members, int level, Tree tree, Job job) {
    KTable<GroupSecond, Usage> groups = members.aggregate(()
                                                              -> Usage.NONE,
        (group, usage, sum)
            -> sum.plus(usage),
        (group, usage, sum) -> sum.minus(usage), StateStores.table(job, "groups-" + level, GROUP, Windows.USAGE));
    publish(groups.toStream(), level, job);
    if (level < tree.height()) {
      above(groups.groupBy((group, usage) -> KeyValue.pair(group.above(tree, level), usage), grouped(level + 1)),
          level + 1, tree, job);
    }
  }

  private static void publish(KStream<GroupSecond, Usage> sums, int level, Job job) {
    sums.map((group, usage) -> KeyValue.pair(key(level, group), usage.ofGroup(level, group.group(), group.endMs())))
        .to(job.output(), Produced.with(Binary.BYTES, Binary.BYTES));
  }

  private static GroupSecond group(Windowed<Long> second) {
    return new GroupSecond(second.key(), second.window().end());
  }

  private static byte[] key(int level, GroupSecond group) {
    return (level + ":" + group.group()).getBytes(StandardCharsets.UTF_8);
  }

  private static Grouped<GroupSecond, Usage> grouped(int level) {
    return Grouped.with(name(level), GROUP, Windows.USAGE);
  }

  private static String name(int level) {
    return "level-" + level;
  }
}
