// The sentences are written by Python; this only shows those of the chosen phase.
figure("answer", (root) => {
  for (const button of root.querySelectorAll("[data-phase-button]"))
    button.addEventListener("click", () => update({ phase: button.dataset.phaseButton }));
  return () => {
    for (const block of root.querySelectorAll(".answer"))
      block.hidden = block.dataset.phase !== state.phase;
  };
});
