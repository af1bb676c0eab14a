package streamgauge;

/** Finds an engine's program for a workload by name, so that no list must be maintained. */
public final class Programs {
  private Programs() {}

  /**
   * The program for the job's workload. {@code traffic/join} is computed by the class {@code traffic.Join} below the
   * package of {@code type}, and by {@code traffic.CustomisedJoin} with {@code implementation=customised}.
   *
   * <p>Throws IllegalArgumentException if there is no such class.
   */
  public static <T> T find(Job job, Class<T> type) {
    String[] parts = job.workload().replace("-", "").split("/", 2);
    String prefix = job.text("implementation").equals("customised") ? "Customised" : "";
    String simpleName = prefix + Character.toUpperCase(parts[1].charAt(0)) + parts[1].substring(1);
    String name = String.join(".", type.getPackageName(), parts[0], simpleName);
    try {
      return Class.forName(name).asSubclass(type).getDeclaredConstructor().newInstance();
    } catch (ReflectiveOperationException problem) {
      throw new IllegalArgumentException("no program for workload " + job.workload() + ": " + name, problem);
    }
  }
}
