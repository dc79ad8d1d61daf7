package io.kcp4j.tunnel;

import io.kcp4j.command.CommandFailure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/**
 * A configuration file of kcptun: a JSON object whose members have the names of options, in upper
 * or lower case. Its values override those of the command line, as in kcptun.
 */
final class ConfigFile {

  private static final int MAX_BYTES = 1 << 20;

  private final Path file;

  ConfigFile(Path file) {
    this.file = file;
  }

  /**
   * Sets the options of a command.
   *
   * @return warnings about members that are no options; they are ignored, as kcptun ignores them
   * @throws IllegalArgumentException if the file cannot be read, or a value has the wrong type
   */
  List<String> apply(CommandSpec command) {
    List<String> warnings = new ArrayList<>();
    Map<String, Object> members = members();
    members.forEach(
        (name, value) -> {
          OptionSpec option = option(command, name);
          if (option != null && value != null) {
            option.setValue(converted(option, name, value));
          } else if (option == null) {
            warnings.add(file + ": " + name + " is no option and is ignored");
          }
        });
    return warnings;
  }

  private Map<String, Object> members() {
    try {
      if (Files.size(file) > MAX_BYTES) {
        throw new IllegalArgumentException(file + ": larger than " + MAX_BYTES + " bytes");
      }
      return FlatJson.parse(Files.readString(file));
    } catch (IOException e) {
      throw new IllegalArgumentException(
          "cannot read " + file + ": " + CommandFailure.describe(e), e);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(file + ": " + e.getMessage(), e);
    }
  }

  /** The option of that name; {@code qpp-count} is {@code --QPPCount}. */
  private static OptionSpec option(CommandSpec command, String member) {
    String wanted = normalized(member);
    for (OptionSpec option : command.options()) {
      if (isSettable(option) && normalized(option.longestName()).equals(wanted)) {
        return option;
      }
    }
    return null;
  }

  private static boolean isSettable(OptionSpec option) {
    boolean isOwn = !option.usageHelp() && !option.versionHelp();
    return isOwn && option.longestName().startsWith("--");
  }

  private static String normalized(String name) {
    return name.replace("-", "").toLowerCase(Locale.ROOT);
  }

  private Object converted(OptionSpec option, String name, Object value) {
    Class<?> type = option.type();
    if (type == String.class && value instanceof String) {
      return value;
    }
    if ((type == boolean.class) && value instanceof Boolean) {
      return value;
    }
    if ((type == int.class || type == Integer.class)
        && value instanceof Long number
        && number.intValue() == number) {
      return number.intValue();
    }
    String expected =
        type == String.class ? "a string" : type == boolean.class ? "true or false" : "an integer";
    throw new IllegalArgumentException(
        file + ": " + name + ": " + value + " (expected: " + expected + ")");
  }
}
