package streamgauge.flink.streambench;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;

/** Adds to each element of a keyed stream the number of elements with its key so far. */
final class Count extends RichMapFunction<String, Tuple2<String, Long>> {
  private static final long serialVersionUID = 1L;

  static final TypeInformation<Tuple2<String, Long>> COUNTED = Types.TUPLE(Types.STRING, Types.LONG);

  private transient ValueState<Long> counts;

  @Override
  public void open(OpenContext context) {
    counts = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Types.LONG));
  }

  @Override
  public Tuple2<String, Long> map(String element) throws Exception {
    Long before = counts.value();
    long n = before == null ? 1 : before + 1;
    counts.update(n);
    return Tuple2.of(element, n);
  }
}
