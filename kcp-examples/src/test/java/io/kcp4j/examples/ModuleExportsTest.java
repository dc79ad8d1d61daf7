package io.kcp4j.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Modules export what the architecture says, and internal packages only to modules by name. */
class ModuleExportsTest {

  private static final Pattern EXPORTS = Pattern.compile("(?m)^ *exports ([\\w.]+);");

  private static final Map<String, List<String>> EXPORTED =
      Map.of(
          "kcp-core",
          List.of(
              "io.kcp4j", "io.kcp4j.crypto", "io.kcp4j.fec", "io.kcp4j.lanes", "io.kcp4j.trace"),
          "kcp-core/openssl",
          List.of("io.kcp4j.crypto.openssl"),
          "kcp-core/vector",
          List.of("io.kcp4j.crypto.vector", "io.kcp4j.fec.vector"),
          "kcp-netty",
          List.of("io.kcp4j.netty", "io.kcp4j.netty.metrics"),
          "kcp-netty/smux",
          List.of("io.kcp4j.netty.smux", "io.kcp4j.smux"));

  @Test
  void modulesExportOnlyTheirApi() {
    Map<String, List<String>> exported =
        SourceFiles.find(path -> path.endsWith("src/main/java/module-info.java")).stream()
            .collect(Collectors.toMap(ModuleExportsTest::module, ModuleExportsTest::exports));
    assertEquals(EXPORTED, exported);
  }

  private static String module(Path moduleInfo) {
    String path = moduleInfo.toString().replace('\\', '/');
    return path.substring(0, path.indexOf("/src/"));
  }

  private static List<String> exports(Path moduleInfo) {
    String text = String.join("\n", SourceFiles.lines(moduleInfo));
    return EXPORTS.matcher(text).results().map((MatchResult export) -> export.group(1)).toList();
  }
}
