package io.kcp4j;

import org.junit.jupiter.api.Test;

class AllocationSitesTest {

  @Test
  void eachClassThatAllocatesIsListedWithItsCharge() {
    AllocationSites.check(
        "/allocation-sites.txt", "io.kcp4j", "io.kcp4j.lanes", "io.kcp4j.session", "io.kcp4j.fec");
  }
}
